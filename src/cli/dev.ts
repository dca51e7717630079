/** `portico dev`: serves, and reloads when the model changes. */
import { Supervisor } from '../dev/supervisor.ts'
import { Terminal } from '../dev/terminal.ts'
import type { Command } from './commands.ts'
import { database, givenSettings, model, port } from './options.ts'
import { stopSignal } from './stop-signal.ts'

export const command: Command = {
  options: {
    model,
    database,
    port,
    yes: { value: undefined, sentence: 'Apply every migration unasked, also those that lose data.' },
  },
  async run(args) {
    const terminal = new Terminal()
    const supervisor = new Supervisor({ given: givenSettings(args), isYes: args.flag('yes'), terminal })
    const stopped = stopSignal()
    try {
      await Promise.race([supervisor.run(), stopped])
    } finally {
      await supervisor.close()
    }
    return ''
  },
}
