//! Programs with sensors and their observers, as processes of their own.

mod abuse;
mod child;
mod forking;
mod harness;
mod hostile;
mod killed;
mod ledger;
mod own;
mod policies;
mod steered;
mod steering;
mod stepping;
mod watching;
