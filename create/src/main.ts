/** `create-portico`: asks for what is missing, writes the project, and prints the next steps. */
import { relative } from 'node:path'
import { type Arguments, help, readArguments } from './arguments.ts'
import { Failure } from './failure.ts'
import { checkedTarget, targetFault, targetOf } from './folder.ts'
import { machineNodeVersion, needsOwnNode, ownNodeFault } from './node.ts'
import { productNameFault, suggestedProductName } from './product-name.ts'
import { type Plan, packedPath, writeProject } from './project.ts'
import { questionsOn } from './questions.ts'
import { installPackages, makeRepository } from './setup.ts'
import { defaultTemplate, type TemplateName } from './templates.ts'
import { readVersions } from './versions.ts'

const defaultFolder = 'my-app'

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

interface Choice {
  readonly folder: string
  readonly template: TemplateName
  readonly productName: string
}

/** Uses the defaults if there is no terminal to ask on. */
async function choose({ folder, template, name, yes }: Arguments, from: string): Promise<Choice> {
  const suggestedFor = (chosen: string) => suggestedProductName(targetOf(chosen, from).name)
  const isComplete = folder !== undefined && template !== undefined
  if (isComplete || yes || !process.stdin.isTTY) {
    const chosen = folder ?? defaultFolder
    return {
      folder: chosen,
      template: template ?? defaultTemplate,
      productName: name ?? suggestedFor(chosen),
    }
  }
  // An unusable folder is an error before the first question.
  if (folder !== undefined) checkedTarget(folder, from)
  const questions = questionsOn({ input: process.stdin, output: process.stdout })
  try {
    const chosen = folder ?? (await questions.folder(defaultFolder, answer => targetFault(answer, from)))
    return {
      folder: chosen,
      template: template ?? (await questions.template()),
      productName: name ?? (await questions.productName(suggestedFor(chosen), productNameFault)),
    }
  } finally {
    questions.close()
  }
}

async function planOf(args: Arguments, from: string): Promise<Plan> {
  const versions = readVersions()
  const machineNode = await machineNodeVersion()
  const bringsNode = needsOwnNode(versions, machineNode)
  const packed = packedPath(args.portico, from)
  const { folder, ...choice } = await choose(args, from)
  if (bringsNode) {
    const [own] = Object.values(versions.node)
    print(
      `Portico needs Node ${versions.oldestNode} or later, and this is Node ${machineNode}: the project includes Node ${own}.`,
    )
  }
  return { target: checkedTarget(folder, from), ...choice, versions, packed, bringsNode }
}

/** Quotes a path for a shell, if necessary. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

/** Throws a `Failure` if the packages cannot be installed or run. */
async function install({ target, bringsNode, versions }: Plan): Promise<void> {
  print('Installing the packages …')
  const began = performance.now()
  const fault = await installPackages(target.path)
  if (fault !== undefined) {
    throw new Failure(
      `The project is written, but its packages could not be installed: ${fault}. Run \`npm install\` in ${target.path} to try again.`,
    )
  }
  const nodeFault = bringsNode ? await ownNodeFault(target.path, versions) : undefined
  if (nodeFault !== undefined) throw new Failure(nodeFault)
  print(`Installed the packages in ${((performance.now() - began) / 1000).toFixed(1)} s.`)
}

/** The commands that start the service. */
function nextCommands(path: string, from: string, isInstalled: boolean): readonly string[] {
  const shortest = relative(from, path)
  // `cd ../../../tmp/shop` says less than `cd /tmp/shop`.
  const near = shortest.startsWith('..') ? path : shortest
  const enter = near === '' ? [] : [`cd ${quoted(near)}`]
  return [...enter, isInstalled ? 'npm run dev' : 'npm install && npm run dev']
}

async function create(args: Arguments, from: string): Promise<void> {
  const plan = await planOf(args, from)
  const { target, template, versions } = plan
  writeProject(plan)
  const hasRepository = args.git && (await makeRepository(target.path))
  const repository = hasRepository ? ', in a new git repository' : ''
  print(
    `Created ${target.name} from the template ${template}, with Portico ${versions.portico}${repository}.`,
  )
  if (args.install) await install(plan)
  const commands = nextCommands(target.path, from, args.install).map(command => `  ${command}`)
  print(`\nNext:\n\n${commands.join('\n')}\n`)
}

/** Returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const read = readArguments(args)
    if (read.help) process.stdout.write(help())
    else await create(read, process.cwd())
    return 0
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    process.stderr.write(`${error.message}\n`)
    return error.code
  }
}
