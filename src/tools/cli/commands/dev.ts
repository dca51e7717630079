/** `portico dev`: serves, and reloads when the model changes. */
import { Supervisor } from '../../dev/supervisor.ts'
import { Terminal } from '../../dev/terminal.ts'
import { commandLineSettings, database, model, port } from '../options.ts'
import { stopSignal } from '../stop-signal.ts'
import type { Command } from './commands.ts'

export const command: Command = {
  options: {
    model,
    database,
    port,
    client: { value: 'file', sentence: 'The file for the client’s types, as `generate client` writes it.' },
    'share-mails': {
      value: undefined,
      sentence: 'Show /dev/mail to every machine that reaches the port, e.g. from outside a container.',
    },
    yes: { value: undefined, sentence: 'Apply every migration without asking, even if it loses data.' },
  },
  async run(args) {
    const terminal = new Terminal()
    const areMailsShared = args.flag('share-mails')
    const version = { commandLine: commandLineSettings(args), client: args.text('client'), areMailsShared }
    const supervisor = new Supervisor({ version, assumesYes: args.flag('yes'), terminal })
    const stopped = stopSignal()
    try {
      await Promise.race([supervisor.run(), stopped])
    } finally {
      await supervisor.close()
    }
    return ''
  },
}
