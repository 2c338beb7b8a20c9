//! The table of cases, by what they are about.

mod blocks;
mod content;
mod definitions;
mod fields;
mod hpack;
mod huffman;
mod messages;
mod settings;
mod starting;
mod states;
mod table;
mod windows;

use super::case::Case;

pub(super) fn all() -> Vec<Case> {
    [
        starting::cases(),
        blocks::cases(),
        states::cases(),
        content::cases(),
        definitions::cases(),
        settings::cases(),
        windows::cases(),
        messages::cases(),
        fields::cases(),
        hpack::cases(),
        table::cases(),
        huffman::cases(),
    ]
    .concat()
}
