// What each group's requests did in the last minutes, for the charts.

/** Five minutes of a look a second. */
const MOST = 300;

export class History {
  #groups = new Map();

  /** Takes one overview up: a point for each group. */
  push(overview) {
    const known = new Set();
    for (const group of overview.groups) {
      known.add(group.name);
      const rates = group.per_second;
      const point = [overview.at / 1000, rates?.new ?? null, rates?.pinned ?? null, rates?.moved ?? null];
      const columns = this.#groups.get(group.name) ?? [[], [], [], []];
      this.#groups.set(group.name, columns);
      columns.forEach((column, nth) => {
        column.push(point[nth]);
        if (column.length > MOST) column.shift();
      });
    }
    for (const name of this.#groups.keys()) if (!known.has(name)) this.#groups.delete(name);
  }

  /** Columns of times, new sessions, pinned and moved requests a second. */
  of(group) {
    return this.#groups.get(group) ?? [[], [], [], []];
  }

  /** The greatest rate of any group, so that all charts have one scale. */
  top() {
    let top = 1;
    for (const columns of this.#groups.values()) {
      for (const column of columns.slice(1)) for (const rate of column) top = Math.max(top, rate ?? 0);
    }
    return top;
  }
}
