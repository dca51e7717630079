/** The environment that test processes inherit: the PATH, and the cache of compiled modules. */
export const inheritedEnvironment = {
  PATH: process.env.PATH,
  // Without it every process compiles all of its modules again: half of the CPU time of a start.
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
}
