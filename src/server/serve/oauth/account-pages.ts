/** The account pages, loaded with the first request for one. */

import { readBody } from '../../../api/rest/body.ts'
import type { Call, Reply } from '../../../base/call.ts'
import type { Records } from '../../../base/records.ts'
import type { Theme } from '../../../base/theme.ts'
import type { RateCounters } from '../../../engine/cluster/cluster.ts'
import { budgetAddress } from '../../../engine/cluster/rate-limits.ts'
import type { CreateHooks, Run } from '../../../engine/plan/run.ts'
import type { SendRequest } from '../../../identity/accounts/providers/provider-fetch.ts'
import type { BackgroundWork } from '../../../identity/background.ts'
import type { Mailer } from '../../../identity/mail/mailer.ts'
import type { AuthorizationServer } from '../../../identity/server/server.ts'
import type { WebhookOperations } from '../../../identity/webhooks/operations.ts'
import type { Model } from '../../../model/model.ts'
import type { AccountRoutes, Visit } from '../../../web/account/routes.ts'
import type { FrameOptions } from '../../../web/pages/frame/layout.ts'
import type { Settings } from '../../config/config.ts'
import type { Log } from '../../observability/log.ts'
import { providerRequests } from './provider-requests.ts'

/** Writes of users on their account pages. */
export interface OwnWrites {
  /** Runs plans with the rules of the built-in collections. */
  readonly run: Run
  readonly hooks: CreateHooks
  readonly webhooks: WebhookOperations
}

interface AccountPagesParts {
  readonly model: Model
  readonly run: Run
  readonly own: OwnWrites
  readonly records: Records
  readonly counters: RateCounters
  readonly settings: Settings
  readonly mail: Mailer
  readonly work: BackgroundWork
  readonly server: () => Promise<AuthorizationServer>
  readonly logger: Pick<Log['logger'], 'info'>
  /** Sends requests to providers of sign-in. For tests. */
  readonly sendToProviders?: SendRequest | undefined
}

export interface AccountPages {
  answer(visit: Visit): Promise<Reply>
  /** Resolves once all pending mail is sent. */
  idle(): Promise<void>
}

/** The JSON body; empty for an operation without one, such as a sign-out. */
function readJson(call: Call): unknown {
  return call.body.length === 0 ? {} : readBody(call, ['application/json'])
}

export function themeOf(settings: Settings): Theme {
  return { name: settings['theme.name'], logo: settings['theme.logo'], colour: settings['theme.colour'] }
}

/** What the frame of all pages shows of the service. */
export function frameOf(settings: Settings): FrameOptions {
  return {
    theme: themeOf(settings),
    explorer: settings['graphql.introspection'],
    guides: settings['docs.guides'] !== 'none',
  }
}

/** Answers the paths for which `isAccountPath` is true. */
export function accountPages({
  model,
  run,
  own,
  records,
  counters,
  settings,
  mail,
  work,
  server,
  logger,
  sendToProviders,
}: AccountPagesParts): AccountPages {
  const requests = providerRequests()
  const load = async (): Promise<AccountRoutes> => {
    const { createAccountRoutes } = await import('../../../web/account/routes.ts')
    return createAccountRoutes({
      model,
      run,
      own: {
        ...own,
        secretOverlapSeconds: settings.secretOverlap / 1000,
        webhookOverlapSeconds: settings.secretOverlap / 1000,
        apps: {
          tokenFormat: settings['oauth.accessTokenFormat'],
          separator: settings['oauth.scopeSeparator'],
          requestsPerMinute: settings.rateLimit.app,
          hasLimits: Object.values(settings.rateLimit).some(limit => limit !== 'off'),
        },
        selfDeletion: settings['accounts.selfDeletion'],
      },
      records,
      counters,
      server: await server(),
      frame: frameOf(settings),
      mail,
      signUp: settings['accounts.signUp'] ?? (mail.delivers ? 'confirmed' : 'open'),
      throttleAddress: budgetAddress,
      readJson,
      work,
      providers: settings['accounts.providers'],
      sendToProvider: allowPrivate => sendToProviders ?? requests.send(allowPrivate),
      onProviderFault: (provider, { reason, message }) =>
        logger.info({ provider, reason, detail: message }, 'a sign-in with a provider failed'),
    })
  }
  let loading: Promise<AccountRoutes> | undefined
  const loadOnce = () => {
    loading ??= load().catch(error => {
      loading = undefined
      throw error
    })
    return loading
  }
  return {
    answer: async visit => (await loadOnce()).answer(visit),
    async idle() {
      await work.idle()
      await requests.close()
    },
  }
}
