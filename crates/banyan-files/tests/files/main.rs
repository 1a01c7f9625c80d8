//! Record files, from outside: what is written is read, whatever happens to the bytes in between. And files of FFS.

mod append;
mod damage;
#[path = "../../../banyan-ndr/tests/support/effort.rs"]
mod effort;
mod ffs;
mod follow;
mod hostile;
mod mapped;
mod oracle;
mod round_trip;
mod samples;
mod time;
