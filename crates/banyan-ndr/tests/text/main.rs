//! Records as text, and schemas of their formats.

mod examples;
mod generate;
mod json;
mod json_schema;
mod validator;
mod xml;
mod xml_schema;
