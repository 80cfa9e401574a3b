"""How may a distributed store behave? As these wrappers of a store do, over which tests run what stands above it."""
