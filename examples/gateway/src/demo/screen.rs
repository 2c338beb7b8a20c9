//! Where the table goes: redrawn in place on a terminal, else a line for each second and order.

use std::{
    io::{self, Write},
    time::Duration,
};

use super::{
    board::Board,
    table::{line, table},
};

/// The display of one run after the other.
#[derive(Debug)]
pub(crate) struct Screen<W> {
    out: W,
    style: Style,
}

#[derive(Debug)]
enum Style {
    /// How many lines the table on the screen has.
    InPlace { lines: usize },
    /// How many orders are printed already.
    Log { orders: usize },
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W, terminal: bool) -> Self {
        let style = if terminal {
            Style::InPlace { lines: 0 }
        } else {
            Style::Log { orders: 0 }
        };
        Self { out, style }
    }

    /// How often to draw.
    pub(crate) fn interval(&self) -> Duration {
        match self.style {
            Style::InPlace { .. } => Duration::from_millis(100),
            Style::Log { .. } => Duration::from_secs(1),
        }
    }

    pub(crate) fn draw(&mut self, board: &Board) -> io::Result<()> {
        let moment = board.now();
        match &mut self.style {
            Style::InPlace { lines } => {
                if *lines > 0 {
                    // up to the first line of the last table, and clear from there
                    write!(self.out, "\x1b[{lines}A\x1b[J")?;
                }
                let text = table(board.affinity, &moment);
                *lines = text.lines().count();
                // A wrapped line would be two on the way up: a narrow terminal cuts it instead.
                write!(self.out, "\x1b[?7l{text}\x1b[?7h")?;
            }
            Style::Log { orders } => {
                for order in moment.orders.iter().skip(*orders) {
                    writeln!(self.out, "{}, operator: {order}", board.affinity)?;
                }
                *orders = moment.orders.len();
                if let Some((title, counts)) = moment.acts.last() {
                    writeln!(self.out, "{}", line(board.affinity, title, counts))?;
                }
            }
        }
        self.out.flush()
    }

    /// Leaves the finished table of a run on the screen.
    pub(crate) fn close(&mut self, board: &Board) -> io::Result<()> {
        self.draw(board)?;
        match &mut self.style {
            Style::InPlace { lines } => *lines = 0,
            Style::Log { orders } => {
                *orders = 0;
                self.out
                    .write_all(table(board.affinity, &board.now()).as_bytes())?;
            }
        }
        writeln!(self.out)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::demo::{board::Affinity, operator::Order};

    fn board() -> Board {
        let board = Board::new(Affinity::On);
        board.act("replace").begin().answered("9f1c2ab");
        board.ordered(Order::Register("c3d4e5f"), vec![("9f1c2ab".to_owned(), 1)]);
        board
    }

    fn shown(terminal: bool) -> String {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, terminal);
        let board = board();
        screen.draw(&board).unwrap();
        screen.draw(&board).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_terminal_sees_one_table_redrawn() {
        let shown = shown(true);
        let (first, second) = shown.split_once("\x1b[5A\x1b[J").unwrap();
        assert_eq!(first, second);
    }

    #[test]
    fn a_log_has_each_order_once_and_no_escapes() {
        let shown = shown(false);
        assert!(!shown.contains('\x1b'), "{shown}");
        assert_eq!(
            shown.matches("operator: register c3d4e5f").count(),
            1,
            "{shown}"
        );
        assert_eq!(shown.matches("replace: started 1 ").count(), 2, "{shown}");
    }
}
