/** The command line. */
import { parseArgs } from 'node:util'
import { Failure } from './failure.ts'
import { productNameFault } from './product-name.ts'
import { defaultTemplate, isTemplate, type TemplateName, templateNames, templates } from './templates.ts'

export interface Arguments {
  readonly folder: string | undefined
  readonly template: TemplateName | undefined
  /** What people call the product. */
  readonly name: string | undefined
  /** A packed Portico to copy into the project; undefined for the registry's. */
  readonly portico: string | undefined
  readonly yes: boolean
  readonly install: boolean
  readonly git: boolean
  readonly help: boolean
}

export function help(): string {
  const rows = templateNames.map(name => `  ${name.padEnd(20)}${templates[name]}`)
  return `Creates a Portico project.

  npm create portico [folder] [-- options]

Templates:

${rows.join('\n')}

Options:

  --template NAME     ${templateNames.join(', ')}
  --name NAME         what people call the product: on its pages and in its mails
  --yes               ask nothing: default to folder my-app, template ${defaultTemplate} and a name from the folder's
  --no-install        do not run npm install
  --no-git            do not create a git repository
  --portico FILE      a packed Portico (.tgz) to copy into the project, instead of the registry's
  --help              show this help
`
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        template: { type: 'string', short: 't' },
        name: { type: 'string' },
        portico: { type: 'string' },
        yes: { type: 'boolean', short: 'y', default: false },
        'no-install': { type: 'boolean', default: false },
        'no-git': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    const [sentence = ''] = (error instanceof Error ? error.message : String(error)).split('. ')
    throw new Failure(
      `${sentence.replace(/\.$/, '')}. \`npm create portico -- --help\` lists the options.`,
      2,
    )
  }
}

/** Throws a `Failure` for unknown options and invalid values. */
export function readArguments(args: readonly string[]): Arguments {
  const { values, positionals } = parsed(args)
  const [folder, second] = positionals
  if (second !== undefined) {
    throw new Failure(`Name one folder only: remove ${JSON.stringify(second)}.`, 2)
  }
  const { template, name, portico, yes } = values
  if (template !== undefined && !isTemplate(template)) {
    throw new Failure(
      `Template ${JSON.stringify(template)} does not exist: choose ${templateNames.join(', ')}.`,
      2,
    )
  }
  const fault = name === undefined ? undefined : productNameFault(name)
  if (fault !== undefined) throw new Failure(fault, 2)
  const install = !values['no-install']
  return { folder, template, name, portico, yes, install, git: !values['no-git'], help: values.help }
}
