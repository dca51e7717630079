// Loaded into a measured server: reports its memory after a garbage collection, and its open file descriptors.
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'

function sample() {
  // The first collection runs finalizers; the second one frees their objects.
  globalThis.gc()
  globalThis.gc()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: heapUsed, external, resident: rss, descriptors: readdirSync('/proc/self/fd').length }
}

createServer((_req, res) => res.end(JSON.stringify(sample())))
  .listen(Number(process.env.SAMPLER_PORT), '127.0.0.1')
  .unref()
