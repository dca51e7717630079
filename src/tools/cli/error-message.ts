/** Turns errors that the operator can correct into messages without a stack. */
import { ApiError } from '../../base/errors.ts'
import { Failure } from './failure.ts'
import { freePortAbove, portOwner } from './port-owner.ts'

/** The names of errors whose message is printed without a stack. */
const plainErrors = [
  'EnvFileError',
  'SettingsError',
  'ProjectError',
  'MigrationError',
  'EncryptionError',
  'CopyError',
  'BackupError',
  'DocumentError',
  'OutgoingError',
]

/** Why a database file, or its folder, cannot be opened. */
function databaseFault(error: Error): Failure | undefined {
  const isNoDatabase =
    'errstr' in error &&
    (error.errstr === 'file is not a database' || error.errstr === 'unable to open database file')
  const isFolderMissing = 'syscall' in error && error.syscall === 'mkdir'
  if (!isNoDatabase && !isFolderMissing) return undefined
  return new Failure(
    `The database cannot be opened: ${error.message}. \`--database\` or DATABASE_URL names its file.`,
  )
}

const listenFaults: Readonly<Record<string, string>> = {
  EACCES: 'this user may not listen on that port. Set PORT to a port above 1023.',
  EMFILE:
    'this process may not open more files. Raise `ulimit -n` (in systemd, LimitNOFILE) to 1024 or more.',
  EADDRNOTAVAIL:
    'this machine has no such address. Set HOST to an address of this machine, or to 0.0.0.0 for all.',
}

async function portInUse(error: NodeJS.ErrnoException & { readonly port?: number }): Promise<Failure> {
  const { message, port = 0 } = error
  const [owner, free] = await Promise.all([portOwner(port), freePortAbove(port)])
  const program = owner === undefined ? '' : ` (${owner})`
  const example = free === undefined ? '' : `, e.g. PORT=${free}`
  return new Failure(
    `${message}: another program listens on this port${program}. Set PORT to a free one${example}.`,
  )
}

/** Why the service cannot listen at the address of the settings. */
async function listenFault(error: NodeJS.ErrnoException): Promise<Failure | undefined> {
  const { code = '', syscall, message } = error
  if (syscall === 'getaddrinfo') return new Failure(`HOST: ${message}: there is no such host.`)
  if (code === 'EADDRINUSE') return portInUse(error)
  const advice = syscall === 'listen' ? listenFaults[code] : undefined
  return advice === undefined ? undefined : new Failure(`${message}: ${advice}`)
}

/** The messages of an internal error's causes, outermost first. Clients do not see them. */
function causesOf({ cause }: Error): readonly string[] {
  if (!(cause instanceof Error)) return []
  return [cause.message, ...causesOf(cause)]
}

function apiFailure(error: ApiError): Failure {
  const causes = error.code === 'INTERNAL_ERROR' ? causesOf(error) : []
  if (causes.length > 0) return new Failure(causes.join('\n  '))
  const details = (error.details ?? []).filter(fault => fault.message !== error.message)
  const faults = details.map(fault => `  ${fault.field}: ${fault.message}`)
  return new Failure([error.message, ...faults].join('\n'))
}

/** Returns undefined for a defect, whose stack is printed. */
export async function failureOf(error: unknown): Promise<Failure | undefined> {
  if (error instanceof Failure) return error
  if (error instanceof ApiError) return apiFailure(error)
  if (!(error instanceof Error)) return undefined
  if (plainErrors.includes(error.name)) return new Failure(error.message)
  return (await listenFault(error)) ?? databaseFault(error)
}
