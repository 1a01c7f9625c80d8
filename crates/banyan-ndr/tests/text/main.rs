//! Records as text, and schemas of their formats.

mod generate;
mod json;
mod xml;
