import { afterEach } from 'node:test'

/** Returns what notes something that a test opens: it is closed after that test, whatever becomes of it. */
export function closedAfterEach<T>(close: (opened: T) => Promise<void>): (opened: T) => void {
  let all: T[] = []
  afterEach(async () => {
    const closing = all
    all = []
    await Promise.all(closing.map(close))
  })
  return opened => void all.push(opened)
}
