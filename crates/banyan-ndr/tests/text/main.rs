//! Records as text, and schemas of their formats.

mod generate;
mod json;
mod json_schema;
mod validator;
mod xml;
mod xml_schema;
