//! Records without compiled types: what is written is read back, forged bodies are refused, paths lead where they say.

#[path = "../support/effort.rs"]
mod effort;
mod generate;
mod hostile;
mod paths;
mod printing;
mod recursive;
mod round_trip;
