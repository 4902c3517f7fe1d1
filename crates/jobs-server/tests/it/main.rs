//! The job server: its log under power losses, its process under kills, its protocol against recorded
//! conversations with a real Faktory 1.10.0.

mod conversations;
mod disk;
mod hostile;
mod kill;
mod leases;
mod power;
mod tools;
