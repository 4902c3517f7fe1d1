//! The table of the API's types, and what follows from it: decoding, protobuf, OpenAPI.
