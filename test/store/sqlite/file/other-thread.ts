/** A thread that changes a title when it is told to, and says so in memory: whoever waits for it may be asleep. */
import { parentPort, workerData } from 'node:worker_threads'
import { openSqlite } from '../../../../src/store/sqlite.ts'
import { blog, Client } from '../../blog.ts'
import { threadsIn } from './other-threads.ts'

interface Task {
  readonly file: string
  readonly told: Int32Array
  readonly commits: Int32Array
  readonly sharesMemory: boolean
}

const { file, told, commits, sharesMemory }: Task = workerData
const otherThreads = sharesMemory ? threadsIn(commits) : undefined
const client = new Client(openSqlite(blog, { file, otherThreads }))

parentPort?.on('message', async ({ id, title }: { readonly id: number; readonly title: string }) => {
  await client.update('posts', id, { title })
  Atomics.add(told, 0, 1)
  Atomics.notify(told, 0)
})
parentPort?.postMessage('ready')
