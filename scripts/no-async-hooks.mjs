// Loaded before the tests of a whole run: `node:test` without its hooks on asynchronous resources.
//
// `node:test` follows every promise, timer and socket, to name the test that an error belongs to which nobody
// catches. That is a fifth of the CPU time of the tests that serve requests in their own process. Without it such an
// error still fails the run, and names the file instead of the test. `npm test -- FILE` names the test.
import hooks from 'node:async_hooks'

const { createHook } = hooks
const idle = { enable: () => idle, disable: () => idle }
hooks.createHook = () => idle
await import('node:test')
hooks.createHook = createHook
