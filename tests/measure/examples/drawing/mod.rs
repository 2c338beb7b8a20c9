//! What pictures have in common.

use std::error::Error;

use plotters::coord::CoordTranslate;
use plotters::prelude::*;

pub(crate) type Drawn<T> = Result<T, Box<dyn Error>>;

/// What a legend shows of a line.
pub(crate) fn sample((x, y): (i32, i32), colour: RGBColor) -> PathElement<(i32, i32)> {
    PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2))
}

/// Draws the legend of all lines of a chart.
pub(crate) fn legend<'a, B, C>(chart: &mut ChartContext<'a, B, C>) -> Drawn<()>
where
    B: DrawingBackend + 'a,
    B::ErrorType: 'static,
    C: CoordTranslate,
{
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .position(SeriesLabelPosition::UpperLeft)
        .draw()?;
    Ok(())
}
