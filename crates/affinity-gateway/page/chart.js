// One chart of a lane.

/* global uPlot */

const HEIGHT = 110;
/** The span that is shown, in seconds. */
const SPAN = 300;

/** A chart in `box`, which says in words what it shows. */
export class Chart {
  #box;
  #plot = null;
  #data = [[], [], [], []];
  #top = 1;

  constructor(box) {
    this.#box = box;
    new ResizeObserver(() => this.#resize()).observe(box);
    // colours are drawn, not styled: they follow the scheme by a new chart
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  show(data, top) {
    this.#data = data;
    this.#top = top;
    if (this.#plot === null) return this.#draw();
    this.#plot.setData(data);
  }

  #resize() {
    const width = this.#box.clientWidth;
    if (width === 0) return;
    if (this.#plot === null) this.#draw();
    else if (this.#plot.width !== width) this.#plot.setSize({ width, height: HEIGHT });
  }

  #draw() {
    const width = this.#box.clientWidth;
    if (width === 0 || this.#data[0].length === 0) return;
    this.#plot?.destroy();
    const colour = (name) => getComputedStyle(this.#box).getPropertyValue(name).trim();
    const axis = { stroke: colour("--quiet"), font: "11px system-ui", ticks: { show: false } };
    const line = (label, name, dash) => ({ label, stroke: colour(name), width: 1.5, dash, points: { show: false } });
    const options = {
      width,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { range: (_, __, last) => [last - SPAN, last] },
        y: { range: () => [0, this.#top * 1.1] },
      },
      axes: [
        { ...axis, size: 22, incrs: [60, 120, 300], grid: { show: false }, space: 50, values: (_, ticks) => ticks.map(minute) },
        { ...axis, size: 40, grid: { stroke: colour("--line"), width: 1 }, space: 30 },
      ],
      series: [{}, line("new", "--new"), line("pinned", "--pinned", [6, 3]), line("moved", "--moved", [2, 2])],
    };
    this.#plot = new uPlot(options, this.#data, this.#box);
  }
}

const minute = (seconds) =>
  new Date(seconds * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
