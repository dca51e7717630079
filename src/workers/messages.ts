/** What the main thread and the workers say to each other. */
import type { MessagePort } from 'node:worker_threads'
import type { Settings } from '../config.ts'
import type { SharedMemory } from './memory.ts'

/** What a worker is started with. */
export interface Orders {
  readonly worker: number
  readonly settings: Settings
  readonly memory: SharedMemory
  /** The model file's contents as they were at the start, hashed. */
  readonly fingerprint: string
}

/** An error that has crossed from one thread to another. */
export interface ToldError {
  readonly name: string
  readonly message: string
  readonly code: string | undefined
  readonly stack: string | undefined
}

export type FromWorker =
  | { readonly kind: 'ready'; readonly url: string }
  | { readonly kind: 'failed'; readonly error: ToldError }
  /** Whole lines of the log. */
  | { readonly kind: 'log'; readonly text: string }
  /** Wants the figures of all workers. */
  | { readonly kind: 'gather'; readonly id: number }
  /** The process must end at once, and close no file. */
  | { readonly kind: 'abort' }
  /** Its own figures. */
  | { readonly kind: 'figures'; readonly id: number; readonly text: string }

export type ToWorker =
  | { readonly kind: 'stop' }
  /** The way to another worker, which may be a new one in the place of one that has died. */
  | { readonly kind: 'peer'; readonly worker: number; readonly port: MessagePort }
  | { readonly kind: 'tell'; readonly id: number }
  | { readonly kind: 'gathered'; readonly id: number; readonly text: string }

/** What workers say to each other: the write lock is yours; something was committed. */
export type Bell = 'lock' | 'commit'

export function toldError(error: unknown): ToldError {
  if (!(error instanceof Error))
    return { name: 'Error', message: String(error), code: undefined, stack: undefined }
  const code = 'code' in error ? String(error.code) : undefined
  return { name: error.name, message: error.message, code, stack: error.stack }
}
