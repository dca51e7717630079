/** The process of `measured-service.ts`; exits with its parent. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openBlog } from './blog.ts'
import type { Usage } from './measured-service.ts'

const blog = await openBlog()
const delay = monitorEventLoopDelay({ resolution: 1 })
let before = process.cpuUsage()

function send(message: unknown): void {
  process.send?.(message)
}

process.on('message', command => {
  if (command === 'begin') {
    delay.reset()
    delay.enable()
    before = process.cpuUsage()
    return send('began')
  }
  const { user, system } = process.cpuUsage(before)
  delay.disable()
  const usage: Usage = { cpuMs: (user + system) / 1000, maxDelayMs: Math.round(delay.max / 1e5) / 10 }
  send(usage)
})
process.on('disconnect', () => void blog.close())
send({ graphql: blog.graphql, socket: blog.socket })
