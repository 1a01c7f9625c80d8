//! Record files, from outside: what is written is read, whatever happens to the bytes in between.

mod append;
mod damage;
mod follow;
mod hostile;
mod mapped;
mod oracle;
mod round_trip;
mod samples;
mod time;
