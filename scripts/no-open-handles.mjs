// Loaded before the tests of each file: ends the file's process if something keeps it running after its tests, such as a
// server of a test that has timed out. Otherwise the whole run would wait for it forever.
import { after } from 'node:test'
import { isMainThread } from 'node:worker_threads'

const patienceMs = 60_000

// The threads and processes that tests start have the same options.
if (isMainThread && /\.test\.ts$|portico-together-/.test(process.argv[1] ?? '')) {
  after(() => {
    setTimeout(() => {
      const kept = [...new Set(process.getActiveResourcesInfo())].join(', ')
      console.error(`${process.argv[1]} was ended a minute after its tests. What kept it running: ${kept}.`)
      process.exit(1)
    }, patienceMs).unref()
  })
}
