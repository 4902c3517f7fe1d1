//! The recorded answers of a real kube-apiserver, asked of the strategies alone: without HTTP, the
//! store and admission. What admission adds is left out of the comparison.

mod cases;
mod columns;
mod long_lists;
mod objects;
mod play;
