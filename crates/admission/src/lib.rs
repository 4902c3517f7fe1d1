//! Admission, in upstream's order.
