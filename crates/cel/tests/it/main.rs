//! The language against an independent implementation of it.

mod cel_go;
mod differential;
mod grammar;
mod known;
mod table;
