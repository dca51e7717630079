// Loaded before the tests of a whole run: disables the hooks of `node:test` on asynchronous resources.
//
// `node:test` tracks every promise, timer and socket, to attribute uncaught errors to a test. That takes a fifth of the CPU
// time of tests that serve requests in their own process. Without it, an uncaught error still fails the run, but names the
// file instead of the test. `npm test -- FILE` names the test.
import hooks from 'node:async_hooks'

const { createHook } = hooks
const idle = { enable: () => idle, disable: () => idle }
hooks.createHook = () => idle
await import('node:test')
hooks.createHook = createHook
