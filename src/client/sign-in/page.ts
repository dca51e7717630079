/** Globals of pages, which workers and Node may lack. */

interface TextStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

export interface Locks {
  request<T>(name: string, work: () => Promise<T>): Promise<T>
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] }>
}

export interface Channel {
  postMessage(message: unknown): void
  onmessage: ((event: { readonly data: unknown }) => void) | null
}

interface Page {
  readonly location: { readonly href: string; assign(url: string): void }
  readonly history: {
    readonly state: unknown
    replaceState(state: unknown, unused: string, url: string): void
  }
  readonly sessionStorage: TextStorage
  readonly navigator: { readonly locks?: Locks }
  readonly BroadcastChannel: new (name: string) => Channel
}

export const page = globalThis as unknown as Partial<Page>

/** Browsers may deny access to it. */
function sessionStorage(): TextStorage | undefined {
  try {
    return page.sessionStorage
  } catch {
    return undefined
  }
}

export type { TextStorage }

/** `session`: the tab's `sessionStorage`, if available. Otherwise values are kept until the page is left. */
export function openStorage(kind: 'session' | 'memory'): TextStorage {
  const storage = kind === 'session' ? sessionStorage() : undefined
  if (storage !== undefined) return storage
  const values = new Map<string, string>()
  return {
    getItem: key => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: key => void values.delete(key),
  }
}
