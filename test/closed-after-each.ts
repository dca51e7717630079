import { afterEach } from 'node:test'

/** Returns a function that registers a resource of a test. It is closed after the test, even if the test fails. */
export function closedAfterEach<T>(close: (resource: T) => Promise<void>): (resource: T) => void {
  let resources: T[] = []
  afterEach(async () => {
    const opened = resources
    resources = []
    await Promise.all(opened.map(close))
  })
  return resource => void resources.push(resource)
}
