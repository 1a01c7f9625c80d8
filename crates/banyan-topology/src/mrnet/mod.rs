//! MRNet's notation: `parent:0 => child:0 child:1 ;`.
//!
//! A process is `host:index`; a statement lists the children of one and ends with a semicolon, on one line or several;
//! `#` begins a comment. The process that is nobody's child is the front-end, processes without children are members.

mod parse;
mod token;
mod write;

pub(super) use parse::parse;
pub(super) use token::is_mrnet;
pub use write::Mrnet;
