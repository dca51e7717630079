/** The reference model in a process of its own, which measures the cost of a request. */
import { fork } from 'node:child_process'
import { once } from 'node:events'

export interface MeasuredService {
  readonly graphql: string
  readonly socket: string
  begin(): Promise<void>
  end(): Promise<Usage>
  close(): Promise<void>
}

/** In milliseconds: CPU time of all threads, and the longest delay of the event loop. */
export interface Usage {
  readonly cpuMs: number
  readonly maxDelayMs: number
}

export async function openMeasuredService(): Promise<MeasuredService> {
  const child = fork(new URL('measured-process.ts', import.meta.url), { stdio: 'inherit' })
  const nextMessage = async () => {
    const [message] = await once(child, 'message')
    return message
  }
  const request = (command: 'begin' | 'end') => {
    const answer = nextMessage()
    child.send(command)
    return answer
  }
  const { graphql, socket } = await nextMessage()
  return {
    graphql,
    socket,
    begin: () => request('begin'),
    end: () => request('end'),
    async close() {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}
