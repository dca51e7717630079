/** A thread that changes a title on request and signals this in shared memory, since the waiting thread may be blocked. */
import { parentPort, workerData } from 'node:worker_threads'
import { openSqlite } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client } from '../../blog.ts'
import { threadsIn } from './other-threads.ts'

interface Task {
  readonly file: string
  readonly signal: Int32Array
  readonly commits: Int32Array
  readonly sharesMemory: boolean
}

const { file, signal, commits, sharesMemory }: Task = workerData
const otherThreads = sharesMemory ? threadsIn(commits) : undefined
const client = new Client(openSqlite(blog, { file, otherThreads }))

parentPort?.on('message', async ({ id, title }: { readonly id: number; readonly title: string }) => {
  await client.update('posts', id, { title })
  Atomics.add(signal, 0, 1)
  Atomics.notify(signal, 0)
})
parentPort?.postMessage('ready')
