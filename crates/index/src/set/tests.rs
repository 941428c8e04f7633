//! Prefix index against brute force.
