//! What holds for the engine as a whole, checked through its public interface.

mod histories;
