// librsvg and cairo as a library of its own, loaded when a PNG or PDF is asked for: only these need them, and
// they are large. See report/svg/pictures.cc.
#include <cairo-pdf.h>
#include <cairo.h>
#include <librsvg/rsvg.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>

#include "report/svg/pictures.h"

namespace {

cairo_status_t append(void* to, const unsigned char* bytes, unsigned int size) {
  static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(bytes), size);
  return CAIRO_STATUS_SUCCESS;
}

struct Closing {
  void operator()(RsvgHandle* handle) const { g_object_unref(handle); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* canvas) const { cairo_destroy(canvas); }
};
using Handle = std::unique_ptr<RsvgHandle, Closing>;
using Surface = std::unique_ptr<cairo_surface_t, Closing>;
using Canvas = std::unique_ptr<cairo_t, Closing>;

std::string message(GError* error) {
  std::string text = error ? error->message : "librsvg cannot read it";
  g_clear_error(&error);
  return text;
}

// "" or what went wrong.
std::string render(RsvgHandle* handle, cairo_surface_t* surface, double width, double height) {
  const Canvas canvas(cairo_create(surface));
  const RsvgRectangle page{0, 0, width, height};
  GError* error = nullptr;
  if (!rsvg_handle_render_document(handle, canvas.get(), &page, &error)) return message(error);
  const cairo_status_t status = cairo_status(canvas.get());
  return status == CAIRO_STATUS_SUCCESS ? "" : cairo_status_to_string(status);
}

std::string to_pdf(RsvgHandle* handle, double width, double height, std::string& result) {
  const Surface surface(cairo_pdf_surface_create_for_stream(append, &result, width, height));
  // The same drawing gives the same bytes.
  cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
  const std::string problem = render(handle, surface.get(), width, height);
  cairo_surface_finish(surface.get());
  return problem;
}

// Two pixels a unit; cairo's images end at 32767 pixels, and 12 million of them show a page of 60 boxes well.
std::string to_png(RsvgHandle* handle, double width, double height, std::string& result) {
  const double scale = std::min({2.0, 30000 / std::max(width, height), std::sqrt(12e6 / (width * height))});
  const double w = std::max(1.0, std::floor(width * scale)), h = std::max(1.0, std::floor(height * scale));
  const Surface surface(
      cairo_image_surface_create(CAIRO_FORMAT_ARGB32, static_cast<int>(w), static_cast<int>(h)));
  const std::string problem = render(handle, surface.get(), w, h);
  if (!problem.empty()) return problem;
  const cairo_status_t status = cairo_surface_write_to_png_stream(surface.get(), append, &result);
  return status == CAIRO_STATUS_SUCCESS ? "" : cairo_status_to_string(status);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void opscope_convert(opscope::PictureFormat format,
                                                                       std::string_view svg,
                                                                       std::string& result,
                                                                       std::string& problem) {
  GError* error = nullptr;
  const Handle handle(
      rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), &error));
  gdouble width = 0, height = 0;
  if (!handle)
    problem = message(error);
  else if (!rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height) || width < 1 ||
           height < 1)
    problem = "it has no size";
  else
    problem = format == opscope::PictureFormat::kPdf ? to_pdf(handle.get(), width, height, result)
                                                     : to_png(handle.get(), width, height, result);
}
