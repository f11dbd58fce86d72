// SPDX-License-Identifier: Apache-2.0
// Everything that a user of the library needs: one call for each verb of the command line, and the
// functions that write a result as text, JSON or a page.
#pragma once

#include "stepscope/pipeline/analyze.h"
#include "stepscope/pipeline/check.h"
#include "stepscope/pipeline/compare.h"
#include "stepscope/pipeline/sweep.h"
#include "stepscope/pipeline/version.h"
#include "stepscope/pipeline/whatif.h"
#include "stepscope/report/check_report.h"
#include "stepscope/report/compare_report.h"
#include "stepscope/report/json_report.h"
#include "stepscope/report/sweep_report.h"
#include "stepscope/report/text_report.h"
#include "stepscope/report/whatif_report.h"
