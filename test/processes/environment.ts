/** What a process that a test starts takes from ours: where programs are, and the modules compiled so far. */
export const inheritedEnvironment = {
  PATH: process.env.PATH,
  // Without it every process compiles all of its modules anew: half of the CPU time of a start.
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
}
