/** The process of `measured-service.ts`; exits with its parent. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openBlog } from './blog.ts'
import type { Usage } from './measured-service.ts'

const blog = await openBlog()
const delay = monitorEventLoopDelay({ resolution: 1 })
let before = process.cpuUsage()

function tell(message: unknown): void {
  process.send?.(message)
}

process.on('message', word => {
  if (word === 'begin') {
    delay.reset()
    delay.enable()
    before = process.cpuUsage()
    return tell('began')
  }
  const { user, system } = process.cpuUsage(before)
  delay.disable()
  const usage: Usage = { cpu: (user + system) / 1000, pause: Math.round(delay.max / 1e5) / 10 }
  tell(usage)
})
process.on('disconnect', () => void blog.close())
tell({ graphql: blog.graphql, socket: blog.socket })
