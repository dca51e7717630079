/** The messages between the supervisor and the serving processes. A `connection` message carries a socket. */
import type { NewMail, StoredMail } from './mail/mailbox.ts'

/** The hash of each file's contents; null if the file cannot be read. */
export type FileHashes = readonly (readonly [path: string, hash: string | null])[]

/** The options of the command, which apply to every version. */
export interface VersionOptions {
  /** Settings that the command line sets. */
  readonly commandLine: Readonly<Record<string, unknown>>
  /** The file for the client's types, which each version updates; undefined: none. */
  readonly client: string | undefined
  /** Whether other machines may read mails. */
  readonly areMailsShared: boolean
}

/** The texts of modules. */
export type ModuleTexts = readonly (readonly [path: string, text: string])[]

export type ToServing =
  /** Loads the settings and the model. `sources` replace the texts of these files. */
  | { readonly kind: 'load'; readonly version: VersionOptions; readonly sources: ModuleTexts | undefined }
  /** Opens the database, and prepares to serve on this port. */
  | { readonly kind: 'open'; readonly port: number }
  /** Applies the migration that a `migration` message has shown. */
  | { readonly kind: 'migrate' }
  /** Answered by `received`. */
  | { readonly kind: 'connection'; readonly id: number }
  /** Mails of this run, including those of earlier versions. */
  | { readonly kind: 'mails'; readonly mails: readonly StoredMail[] }
  /** Gives back every connection once it has no running request. */
  | { readonly kind: 'give-back' }
  /** Stops giving back connections. */
  | { readonly kind: 'keep' }
  /** Gives back connections if another process takes over, finishes running requests, and exits. */
  | { readonly kind: 'stop'; readonly isReplaced: boolean }

/** The addresses and the first sign-in, which the terminal shows. */
export interface ServingAddresses {
  readonly url: string
  /** A path that needs no credential. */
  readonly openPath: string
  /** The text that the first start prints. */
  readonly welcome: string | undefined
}

export type FromServing =
  | {
      readonly kind: 'loaded'
      readonly files: FileHashes
      readonly host: string
      readonly port: number
      readonly model: string
    }
  /** `isPassing`: a retry without a change may succeed. */
  | {
      readonly kind: 'failed'
      readonly files: FileHashes
      readonly text: string
      readonly isTransient: boolean
    }
  /** Needs a confirmation. `dataFits`: the data allows the migration. */
  | {
      readonly kind: 'migration'
      readonly text: string
      readonly losesData: boolean
      readonly dataFits: boolean
      readonly mayRename: boolean
    }
  | { readonly kind: 'ready'; readonly migrated: readonly string[]; readonly addresses: ServingAddresses }
  /** Files that were loaded after `loaded`. */
  | { readonly kind: 'files'; readonly files: FileHashes }
  | { readonly kind: 'mail'; readonly mail: NewMail }
  /** A message for the terminal. */
  | { readonly kind: 'note'; readonly text: string }
  /** The process has the connection with this id. */
  | { readonly kind: 'received'; readonly id: number }
  /** Every connection was given back. */
  | { readonly kind: 'gave-back' }
  | { readonly kind: 'connection' }
