/** Nodes that share a Redis of their own. */
import { RedisServer } from '../databases/redis.ts'
import type { Setup } from './setup.ts'

/** `timeout` in milliseconds: a busy machine must not make the nodes count alone in tests of what they share. */
export function sharing(setup: Setup, timeout = 5000): Setup {
  return {
    name: `${setup.name}, Redis`,
    async open() {
      const place = await setup.open()
      const server = await RedisServer.start()
      return {
        ...place,
        serve: (declaration, settings) =>
          place.serve(declaration, { redis: { url: server.url, timeout }, ...settings }),
        async close() {
          await place.close()
          await server.remove()
        },
      }
    },
  }
}
