/** The signed-in user. */
import { ApiError } from 'portico/client'
import { useEffect, useState } from 'react'
import { api, session, type User } from './api.ts'

/** Completes the sign-in if this page was opened by its redirect, and reads the user. */
async function restoreSession(): Promise<User | undefined> {
  await session.handleRedirect()
  return session.isSignedIn ? await api.me() : undefined
}

export function useMe() {
  const [me, setMe] = useState<User>()
  const [fault, setFault] = useState<string>()
  useEffect(() => {
    restoreSession().then(setMe, error => {
      // A user who cancels on the service's page stays signed out; that is no error.
      const isCancelled = error instanceof ApiError && error.code === 'ACCESS_DENIED'
      if (!isCancelled) setFault(String(error.message))
    })
  }, [])
  return {
    me,
    fault,
    signIn: () => session.signIn().catch(error => setFault(String(error.message))),
    async signOut() {
      setMe(undefined)
      await session.signOut()
    },
  }
}
