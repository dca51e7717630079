import { afterEach } from 'node:test'

/** Returns a function that registers a resource of a test; it is closed after that test, even if the test fails. */
export function closedAfterEach<T>(close: (resource: T) => Promise<void>): (resource: T) => void {
  let all: T[] = []
  afterEach(async () => {
    const closing = all
    all = []
    await Promise.all(closing.map(close))
  })
  return resource => void all.push(resource)
}
