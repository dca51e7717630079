/** The messages between the main thread and the workers. */
import type { MessagePort } from 'node:worker_threads'
import type { Settings } from '../config/config.ts'
import type { SharedMemory } from './shared-memory.ts'

/** The `workerData` of a worker. */
export interface WorkerStart {
  readonly worker: number
  readonly settings: Settings
  readonly memory: SharedMemory
  /** The hash of the model file's contents at the start. */
  readonly fingerprint: string
}

/** An error that is sent from one thread to another. */
export interface SerializedError {
  readonly name: string
  readonly message: string
  readonly code: string | undefined
  readonly stack: string | undefined
}

export type FromWorker =
  | { readonly kind: 'ready'; readonly url: string }
  | { readonly kind: 'failed'; readonly error: SerializedError }
  /** Whole lines of the log. */
  | { readonly kind: 'log'; readonly text: string }
  /** Requests the metrics of all workers. */
  | { readonly kind: 'collect-metrics'; readonly id: number }
  /** The process must end at once, without closing a file. */
  | { readonly kind: 'abort' }
  /** The worker's own metrics. */
  | { readonly kind: 'metrics'; readonly id: number; readonly text: string }

export type ToWorker =
  | { readonly kind: 'stop' }
  /** A port to another worker, which may be the successor of a crashed one. */
  | { readonly kind: 'peer'; readonly worker: number; readonly port: MessagePort }
  | { readonly kind: 'report-metrics'; readonly id: number }
  | { readonly kind: 'collected-metrics'; readonly id: number; readonly text: string }

/** A notification from one worker to another: it now holds the write lock, or there was a commit. */
export type Notification = 'lock' | 'commit'

export function serializeError(error: unknown): SerializedError {
  if (!(error instanceof Error))
    return { name: 'Error', message: String(error), code: undefined, stack: undefined }
  const code = 'code' in error ? String(error.code) : undefined
  return { name: error.name, message: error.message, code, stack: error.stack }
}
