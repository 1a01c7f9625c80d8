//! Records as text, and schemas of their formats.

#[path = "../support/effort.rs"]
mod effort;
mod examples;
mod generate;
mod json;
mod json_schema;
mod validator;
mod xml;
mod xml_schema;
