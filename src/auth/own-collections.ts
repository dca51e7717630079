/** What the service's own collections take beyond the rules of the model: keys, apps and their secrets. */
import type { CreateHooks, Run, WriteRule } from '../plan/run.ts'
import { keyRule } from './key-bounds.ts'
import { newKeyHook } from './new-key.ts'
import { newAppHook, newSecretHook, secretRule } from './server/app-hooks.ts'
import type { AppSecrets } from './server/app-secrets.ts'
import { appRule } from './server/apps.ts'

interface OwnCollections {
  /** For whoever makes plans of what clients send. */
  readonly run: Run
  readonly hooks: CreateHooks
}

interface OwnCollectionParts {
  readonly maxKeysPerUser: number
  readonly secrets: AppSecrets
  /** What the service is called, and no app may be. */
  readonly serviceName: string
}

export function ownCollections(
  run: Run,
  { maxKeysPerUser, secrets, serviceName }: OwnCollectionParts,
): OwnCollections {
  const rules = new Map([
    ['api_keys', keyRule(run)],
    ['oauth_apps', appRule(run, serviceName)],
    ['oauth_app_secrets', secretRule(secrets)],
  ])
  const hooks = new Map([
    ['api_keys', newKeyHook(maxKeysPerUser)],
    ['oauth_apps', newAppHook(secrets, serviceName)],
    ['oauth_app_secrets', newSecretHook(run, secrets)],
  ])
  return { run: withRules(run, rules), hooks }
}

function withRules(run: Run, rules: ReadonlyMap<string, WriteRule>): Run {
  const ruled: Run['write'] = async (plan, principal) => {
    await rules.get(plan.shape.collection)?.(plan, principal)
    return run.write(plan, principal)
  }
  return {
    ...run,
    // The hot path waits for nothing.
    write: (plan, principal) =>
      rules.has(plan.shape.collection) ? ruled(plan, principal) : run.write(plan, principal),
  }
}
