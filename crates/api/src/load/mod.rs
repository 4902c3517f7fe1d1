//! Objects as scheduling reads them: typed views of what came from a file or from the API.

mod object;

pub use object::{Kind, Object, types};
