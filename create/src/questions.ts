/** Asks for what the command line does not say. */
import { createInterface } from 'node:readline'
import { Failure } from './failure.ts'
import { defaultTemplate, isTemplate, type TemplateName, templateNames, templates } from './templates.ts'

export interface Terminal {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
}

/** Why an answer is not accepted; undefined if it is. */
type FaultOf = (answer: string) => string | undefined

export interface Questions {
  folder(fallback: string, faultOf: FaultOf): Promise<string>
  template(): Promise<TemplateName>
  productName(fallback: string, faultOf: FaultOf): Promise<string>
  close(): void
}

/** Finds a template by its number or its name. */
function templateIn(answer: string): TemplateName | undefined {
  return isTemplate(answer) ? answer : templateNames[Number(answer) - 1]
}

function templateList(): string {
  const rows = templateNames.map((name, at) => `  ${at + 1}  ${name.padEnd(9)}${templates[name]}`)
  return `\n${rows.join('\n')}\n\n`
}

export function questionsOn({ input, output }: Terminal): Questions {
  const lines = createInterface({ input, output })
  const answers = lines[Symbol.asyncIterator]()

  /** Asks until the answer is accepted. The end of the input, or Ctrl-C, ends the command. */
  async function ask(question: string, fallback: string, faultOf: FaultOf): Promise<string> {
    lines.setPrompt(`${question} (${fallback}): `)
    for (;;) {
      lines.prompt()
      const { value = '', done } = await answers.next()
      if (done) {
        output.write('\n')
        throw new Failure('Nothing was created.', 130)
      }
      const answer = value.trim() === '' ? fallback : value.trim()
      const fault = faultOf(answer)
      if (fault === undefined) return answer
      output.write(`${fault}\n`)
    }
  }

  return {
    folder: (fallback, faultOf) => ask('Folder', fallback, faultOf),
    async template() {
      output.write(templateList())
      const wrong = `Type a number from 1 to ${templateNames.length}, or the name of a template.`
      const answer = await ask('Template', defaultTemplate, typed => (templateIn(typed) ? undefined : wrong))
      return templateIn(answer) ?? defaultTemplate
    },
    productName: (fallback, faultOf) => ask('Name on pages and in mails', fallback, faultOf),
    close: () => lines.close(),
  }
}
