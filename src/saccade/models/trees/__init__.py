"""Boosted trees and forests: one file a library, all of them taken apart into the same arrays."""
